"""The console: pages below /admin/console/ that ask the API by the session (`shell`, `gateway`,
`sessions`), and tables at /admin/, Django's admin site with unfold, which only reads.

`storedobjects` and `tenants` are its pages, `readonly` what they share, `filters` and
`presentation` what they show. `login` and `attempts` decide who gets in and how long wrong
passwords have to wait; `security` is the Content-Security-Policy.
"""
