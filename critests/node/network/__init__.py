"""The network of throwaway runtimes: CNI, the firewall, and what else changes interfaces."""
