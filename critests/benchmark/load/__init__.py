"""Load: arrivals at a rate or users in a loop, by Locust with our locustfile.

Locust patches the standard library when it is imported, so only `locustfile` imports it, and only Locust
imports that; everything else here can be imported anywhere.
"""
