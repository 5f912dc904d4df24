package simweb

import (
	"strconv"
	"strings"
)

// acceptsGzip reads an Accept-Encoding field (RFC 9110, 12.5.3): gzip is welcome
// when it, or else "*", is listed with a weight other than 0.
func acceptsGzip(field string) bool {
	star := false
	for part := range strings.SplitSeq(field, ",") {
		coding, params, _ := strings.Cut(part, ";")
		weight := 1.0
		if _, q, ok := strings.Cut(params, "q="); ok {
			// A weight that cannot be read is 0: then gzip is not sent.
			weight, _ = strconv.ParseFloat(strings.TrimSpace(q), 64)
		}
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "gzip", "x-gzip":
			return weight > 0
		case "*":
			star = weight > 0
		}
	}
	return star
}
