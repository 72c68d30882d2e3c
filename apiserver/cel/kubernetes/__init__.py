"""What Kubernetes makes of CEL: its environment, rules of definitions, policies, device
selectors."""
