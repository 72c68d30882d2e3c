"""Connections of one worker: how many there may be, how long they may take, and what a client may
send before the application sees it."""
