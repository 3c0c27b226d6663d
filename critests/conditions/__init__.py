"""What else goes on while the tests of a run run: traffic of other clients, slow or failing steps, restarts.

A condition promises nothing by itself: the tests stay the same, and each must hold under the condition.
"""
