"""Plans beside a Celery canvas and Dask."""
