"""How to talk to a CRI runtime: endpoints, deadlines, the recording of every call, and streaming sessions."""
