"""A plugin of the Node Resource Interface (NRI), which a runtime calls during the lifecycle of pods and
containers.
"""
