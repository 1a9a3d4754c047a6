# Sourced: what the released programs and archives say of themselves. Outside a checkout of git give COMMIT and SOURCE_DATE_EPOCH.
#
#   VERSION             that of builder-config.yaml
#   COMMIT              of the checkout; ends in .dirty where files differ from it
#   SOURCE_DATE_EPOCH   the time of every file in an archive: that of the commit
VERSION=${VERSION:-$(sed -n 's/^  version: //p' builder-config.yaml)}
if [ -z "${COMMIT:-}" ]; then
	COMMIT=$(git rev-parse --short=12 HEAD)
	[ -z "$(git status --porcelain)" ] || COMMIT=$COMMIT.dirty
fi
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export VERSION COMMIT SOURCE_DATE_EPOCH
