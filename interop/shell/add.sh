#!/bin/sh
# Add a one-shot that is due now to a schedule, in the published steps: payload, SHA-1, HSETNX, ZADD.
#
#   add.sh SCHEDULE FUNCTION ARGS_JSON [redis-cli options]
#   add.sh app-tasks "#'app.cache/clear" '[]' -p 6379
set -eu
schedule=$1 function=$2 args=$3
shift 3
cron=$(date -u '+%Y %-m %-d * %-H %-M %-S')
payload=$(printf '{"args":%s,"cron":"%s","job":"%s"}' "$args" "$cron" "$(printf %s "$function" | sed 's,/,\\/,g')")
id=$(printf %s "$payload" | sha1sum | cut -d ' ' -f 1)
if [ "$(redis-cli "$@" HSETNX "$schedule:jobs" "$id" "$payload")" = 1 ]; then
  redis-cli "$@" ZADD "$schedule:next" "$(date -u +%s)000" "{\"id\":\"$id\"}" >/dev/null
fi
echo "$id"
