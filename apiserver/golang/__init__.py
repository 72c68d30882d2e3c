"""What imitates Go's standard library, because its texts and its oddities reach clients through
kube-apiserver: error messages, quotes, numbers, durations, addresses.

A module is named after the Go package that it imitates. Nothing here knows Kubernetes; errors carry
Go's own words. When two places need the same function of Go, it is here, once.
"""
