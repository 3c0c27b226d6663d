"""What is under test and around it: throwaway runtimes, machine facts, capabilities, and whether a kubelet is
live.
"""
