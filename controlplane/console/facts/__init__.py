"""What the console's pages ask beside the API (below /admin/console/facts/): what is of the
installation and not of a tenant. Each answer is for those with a platform role, or about whoever
asks."""
