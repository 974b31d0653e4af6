#!/bin/sh
# Make the two images that are otherwise pulled, for hosts without an image registry: a minimal Debian or Ubuntu with
# Python, and redis on top of it. Packages come from the mirror that the host's own apt uses, and the images trust the
# certificate authorities that the host trusts. Needs root, debootstrap and a running Docker engine.
#
# usage: local-images.sh [BASE_IMAGE [REDIS_IMAGE]]     (SUITE and MIRROR override what apt says)
set -eu

base=${1:-skillfleet-base:local}
redis=${2:-skillfleet-redis:local}

. /etc/os-release
suite=${SUITE:-$VERSION_CODENAME}
mirror=${MIRROR:-$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Identifier: Packages' |
  awk -v suite="$suite" '$1 == suite && $2 == "main" { print $3; exit }')}
: "${mirror:?no mirror for $suite in the apt sources; set MIRROR}"

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
trap 'exit 1' HUP INT TERM

echo "local-images: debootstrap $suite"
debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates,bubblewrap \
  "$suite" "$root" "$mirror" >"$root.log" 2>&1 || { tail -20 "$root.log" >&2; exit 1; }
rm -rf "$root.log" "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/debootstrap \
  "$root"/usr/share/doc/* "$root"/usr/share/locale/* "$root"/usr/share/man/*
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"

# pip and uv carry certificates of their own and look at the system's only when told.
tar -C "$root" -c . | docker import \
  --change 'ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt PIP_CERT=/etc/ssl/certs/ca-certificates.crt' \
  --change 'CMD ["python3"]' - "$base" >/dev/null

# 999:1000 is the user of the public redis and valkey images, and the one that docker-compose.yml names.
docker build --quiet --tag "$redis" - <<DOCKERFILE >/dev/null
FROM $base
RUN apt-get update && apt-get install --yes --no-install-recommends redis-server && rm -rf /var/lib/apt/lists/* \
 && mkdir /data && chown 999:1000 /data
VOLUME /data
WORKDIR /data
CMD ["redis-server"]
DOCKERFILE
echo "local-images: $base and $redis"
