"""`manage.py up`: prepares everything, then keeps PostgreSQL and the workers running until it is
told to stop."""
