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

# builder_config FOLDER [FILE] prints the builder's file with the commit in the version, for sources in FOLDER.
builder_config() {
	awk -v out="./$1" -v version="$VERSION+$COMMIT" '
		/^  output_path:/ { print "  output_path: " out; next }
		/^  version:/ { print "  version: " version; next }
		{ print }' "${2:-builder-config.yaml}"
}
