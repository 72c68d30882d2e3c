"""Types and overloads of a tree (`checker`), and Kubernetes' checks of its literals
(`validators`)."""
