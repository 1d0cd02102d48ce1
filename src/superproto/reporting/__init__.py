"""SHOW: tables, charts, templates, the report of a model."""
