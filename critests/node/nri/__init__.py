"""A plugin of the Node Resource Interface, which a runtime calls at moments in the lives of pods and
containers.
"""
