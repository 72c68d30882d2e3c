"""What pyproject.toml cannot say: templates and fixtures stand at the top of the clone, and inside
the package once it is installed (`controlplane.environment.resources`)."""

from setuptools import find_packages, setup

TOP = {"controlplane.templates": "templates", "controlplane.fixtures": "fixtures"}

setup(
    packages=[*find_packages(include=["apiserver*", "admission*", "controlplane*"]), *TOP],
    package_dir=TOP,
    package_data={
        "": ["data/*.json", "*.sql", "*.html", "*.yaml", "static/**/*", "**/*.html", "**/*.yaml"]
    },
)
