"""Reproducers of public bugs, one module each; `catalogue.yml` lists them."""
