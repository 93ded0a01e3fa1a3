# The operator's shell (bash) on a machine with the units:  . /etc/vbdesk/operator.sh
# It gives vbdesk and PostgreSQL's tools the settings and credentials of the units.

: "${ETC:=/etc/vbdesk}" "${DATA:=/var/lib/vbdesk-operator}" "${BACKUP:=/var/backups/vbdesk}"
export ETC DATA BACKUP
PATH=/opt/vbdesk/bin:$PATH
umask 077

set -a
. "$ETC/service.env"
set +a
export VBDESK_SECRETS_FILE=$ETC/credentials/keys
export PGPASSFILE=$ETC/credentials/pgpass
export AWS_SHARED_CREDENTIALS_FILE=$ETC/credentials/store GOOGLE_APPLICATION_CREDENTIALS=$ETC/credentials/store
# PostgreSQL's tools take the URL without SQLAlchemy's driver name
export DATABASE=${VBDESK_DATABASE_URL/+psycopg/}
mkdir -p "$DATA" "$BACKUP"
