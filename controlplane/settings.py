"""Django's settings, all from the environment (names: docs/operations.md). The API itself does not
read them: see wiring.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.templatetags.static import static
from django.urls import reverse_lazy

from controlplane import environment
from controlplane.console import oidcsettings
from controlplane.database import OWNER, parse_database_url
from controlplane.datadir import DataDir
from controlplane.embedded.roles import WORKER
from controlplane.embedded.server import database_settings
from controlplane.secretkey import secret_key

POLYPLANE_DATA_DIR: Path = environment.data_dir()
POLYPLANE_BIND = environment.text("BIND", "127.0.0.1")
POLYPLANE_PORT = environment.port_of_all()
POLYPLANE_DATABASE_URL = environment.secret("DATABASE_URL")
# Where to listen for hints of new events when DATABASE_URL leads through PgBouncer, which cannot
# LISTEN; "": the same database.
POLYPLANE_HINTS_DSN = environment.secret("POLYPLANE_HINTS_URL")

SECRET_KEY = environment.secret("POLYPLANE_SECRET_KEY") or secret_key(DataDir(POLYPLANE_DATA_DIR))
POLYPLANE_ALLOW_UNSAFE_DATABASE = environment.flag("ALLOW_UNSAFE_DATABASE")  # fsync=off, for tests
DEBUG = environment.flag("DEBUG")
ALLOWED_HOSTS = environment.words("ALLOWED_HOSTS") or [
    "*"
]  # the API answers under any name that its certificate or a proxy's carries
CSRF_TRUSTED_ORIGINS = environment.words("CSRF_TRUSTED_ORIGINS")

INSTALLED_APPS = [
    "controlplane.console",  # before unfold, whose Alpine it replaces (static/unfold)
    "unfold",
    "unfold.contrib.filters",
    # urls.py finds the pages: commands need none of them
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "channels",
    "django_filters",
    "apiserver.storage",
    "controlplane",
    "controlplane.tenancy",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "controlplane.console.security.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "controlplane.urls"
ASGI_APPLICATION = "controlplane.asgi.application"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [environment.resources("templates")],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# The workers' role, and the owner of the tables, as whom migrations run (controlplane/roles.py); a
# DATABASE_URL alone is both.
DATABASES = (
    {
        "default": parse_database_url(POLYPLANE_DATABASE_URL),
        OWNER: parse_database_url(
            environment.secret("POLYPLANE_MIGRATION_DATABASE_URL") or POLYPLANE_DATABASE_URL
        ),
    }
    if POLYPLANE_DATABASE_URL
    else {
        "default": database_settings(DataDir(POLYPLANE_DATA_DIR), user=WORKER),
        OWNER: database_settings(DataDir(POLYPLANE_DATA_DIR)),
    }
)
for _database in DATABASES.values():
    _database["DISABLE_SERVER_SIDE_CURSORS"] = (
        True  # PgBouncer in transaction mode has no session to hold them
    )
    _database["OPTIONS"].setdefault("application_name", "polyplane-django")
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "admin:login"
# Who else says who somebody is in the console (None: nobody), and whether passwords do.
POLYPLANE_CONSOLE_OIDC = oidcsettings.read()
POLYPLANE_CONSOLE_PASSWORD_LOGIN = oidcsettings.password_login(POLYPLANE_CONSOLE_OIDC)
# Proxies whose X-Forwarded-For says where a login to the console comes from; nobody else's does.
POLYPLANE_TRUSTED_PROXIES = environment.networks("TRUSTED_PROXIES")

# Everything is served over TLS, by Polyplane or by a proxy before it.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Strict"
LOGIN_REDIRECT_URL = "/admin/console/"  # of who asked for no page, or for none of ours
SESSION_COOKIE_NAME = "polyplane_session"
SESSION_ENGINE = "controlplane.console.sessionstore"
CSRF_COOKIE_NAME = "polyplane_csrf"
SESSION_COOKIE_AGE = 8 * 3600  # seconds
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# The listener speaks TLS only, so there is nothing to redirect; HSTS would bind a browser's
# 127.0.0.1 to a private CA.
SECURE_SSL_REDIRECT = False
SECURE_HSTS_SECONDS = environment.number("HSTS_SECONDS", 0)
SILENCED_SYSTEM_CHECKS = ["security.W004", "security.W008"]

STATIC_URL = "/static/"
STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.AppDirectoriesFinder"]
LANGUAGE_CODE = "en-us"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = ["controlplane.formats"]

# Messages carry names and counts, never request bodies, tokens or query strings.
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {
            "()": "controlplane.logs.OneLineFormatter",
            "format": "%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s",
        }
    },
    "filters": {"refusals": {"()": "controlplane.logs.Refusals"}},
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": "plain",
            "filters": ["refusals"],
        }
    },
    "root": {"handlers": ["stderr"], "level": environment.log_level("WARNING")},
    "loggers": {
        "django": {
            "handlers": [],
            "level": "WARNING",
        },  # Django's own handlers have formatters of their own
        "django.db.backends": {"level": "WARNING"},
        "django.security.DisallowedHost": {
            "level": "CRITICAL"
        },  # a client's mistake, with a traceback each time
        "uvicorn": {"level": "WARNING"},  # its INFO lines carry query strings
        "polyplane": {"level": environment.log_level("INFO")},
    },
}

REST_FRAMEWORK: dict[str, Any] = {
    # Authentication, authorization and negotiation follow Kubernetes and happen before and in the
    # views (apiserver/endpoints).
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "UNAUTHENTICATED_USER": None,
}

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Polyplane",
    "SITE_HEADER": "Polyplane",
    "SITE_SUBHEADER": "Kubernetes APIs for many tenants",
    "SITE_URL": None,
    "STYLES": [lambda request: static("console/tables.css")],
    "SCRIPTS": [lambda request: static("console/tables.js")],
    "SITE_SYMBOL": "layers",
    "SHOW_VIEW_ON_SITE": False,
    "LOGIN": {"form": "controlplane.console.login.LoginForm"},
    "SIDEBAR": {
        "show_search": True,
        "navigation": [
            {
                "title": "Control planes",
                "items": [
                    {
                        "title": "Console",
                        "icon": "space_dashboard",
                        "link": reverse_lazy("console"),
                        "active": lambda request: False,  # it begins as the tables' addresses do
                    },
                    {
                        "title": "Tenants",
                        "icon": "dns",
                        "link": reverse_lazy("admin:tenancy_tenant_changelist"),
                    },
                    {
                        "title": "Objects",
                        "icon": "data_object",
                        "link": reverse_lazy("admin:console_storedobject_changelist"),
                    },
                    {
                        "title": "Change log",
                        "icon": "history",
                        "link": reverse_lazy("admin:console_storedevent_changelist"),
                    },
                    {
                        "title": "Audit log",
                        "icon": "policy",
                        "link": reverse_lazy("admin:storage_auditentry_changelist"),
                    },
                ],
            },
            {
                "title": "Access",
                "items": [
                    {
                        "title": "API tokens",
                        "icon": "key",
                        "link": reverse_lazy("admin:tenancy_apitoken_changelist"),
                    },
                    {
                        "title": "Console users",
                        "icon": "person",
                        "link": reverse_lazy("admin:auth_user_changelist"),
                    },
                ],
            },
        ],
    },
}
