# The image that containers of skills without an image of their own are made of.
#
# BASE_IMAGE is to be that of the worker, or one with the same C library: the worker shows its containers its own Python
# and the skills' environments. What else skills' scripts start belongs in here: add packages to `EXTRA`.
#
#   docker build -f deploy/skill-runtime.Dockerfile -t skillfleet-runtime deploy
ARG BASE_IMAGE=python:3.12-slim
FROM ${BASE_IMAGE}
ARG EXTRA=
RUN if [ -n "$EXTRA" ]; then \
      apt-get update && apt-get install --yes --no-install-recommends $EXTRA && rm -rf /var/lib/apt/lists/*; \
    fi \
 && find / -xdev -perm /6000 -type f -exec chmod a-s {} +
CMD ["python3"]
