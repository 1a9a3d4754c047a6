// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"mime"
	"strconv"
	"strings"
)

// Accepted returns which of the offered media types a request prefers by Accept, the first if it does not mention them.
func Accepted(accept []string, offers ...string) string {
	best, quality := offers[0], 0.0
	ranges := parseAccept(accept)
	for _, offer := range offers {
		if q := qualityOf(ranges, offer); q > quality {
			best, quality = offer, q
		}
	}
	return best
}

// Names reports whether Accept names a media type itself, not by a wildcard.
func Names(accept []string, mediaType string) bool {
	for _, r := range parseAccept(accept) {
		if r.mediaType == mediaType && r.quality > 0 {
			return true
		}
	}
	return false
}

type acceptRange struct {
	mediaType string
	quality   float64
}

// maxRanges bounds the media ranges that are looked at.
const maxRanges = 32

func parseAccept(accept []string) []acceptRange {
	var ranges []acceptRange
	for _, part := range strings.SplitN(strings.Join(accept, ","), ",", maxRanges+1) {
		mediaType, parameters, err := mime.ParseMediaType(part)
		if err != nil || len(ranges) == maxRanges {
			continue
		}
		quality := 1.0
		if q, ok := parameters["q"]; ok {
			if quality, err = strconv.ParseFloat(q, 64); err != nil || !(quality >= 0 && quality <= 1) {
				continue
			}
		}
		ranges = append(ranges, acceptRange{mediaType, quality})
	}
	return ranges
}

// qualityOf returns the quality of the range that names a media type most exactly.
func qualityOf(ranges []acceptRange, mediaType string) float64 {
	group, _, _ := strings.Cut(mediaType, "/")
	quality := 0.0
	for _, pattern := range []string{"*/*", group + "/*", mediaType} {
		for _, r := range ranges {
			if r.mediaType == pattern {
				quality = r.quality
			}
		}
	}
	return quality
}
