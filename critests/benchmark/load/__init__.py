"""Load: arrivals at a rate or users in a loop, driven by Locust in processes of its own.

Locust patches the standard library when it is imported, so only `workers` and `master` import it, and only as
programs; everything else here can be imported anywhere.
"""
