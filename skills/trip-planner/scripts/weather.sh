#!/bin/bash
# What the weather is like in a month, as JSON. Reads {"month": N} from its standard input.
set -eu
month=$(tr -dc '0-9')
case "$month" in
  12|1|2) echo '{"sky": "grey", "celsius": 2}' ;;
  3|4|5) echo '{"sky": "showers", "celsius": 10}' ;;
  6|7|8) echo '{"sky": "bright", "celsius": 19}' ;;
  9|10|11) echo '{"sky": "mist", "celsius": 9}' ;;
  *) echo "there is no month '$month'" >&2; exit 1 ;;
esac
