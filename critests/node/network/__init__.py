"""The network of private runtimes: CNI plugins, firewall rules, and settings of this machine."""
