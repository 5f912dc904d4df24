package api

import "fmt"

const (
	// mostObjects and mostValues bound what a JSON body is made of. An empty object or string has
	// three bytes in the body and up to some hundred in memory, so without them the largest body would
	// take gigabytes before anything else counts what is in it.
	mostObjects = 2 * MaxSeeds
	mostValues  = 2 << 20
)

// errCrowded says that a body has too many values.
var errCrowded = fmt.Errorf("more than %d objects or %d values: send them in several requests",
	mostObjects, mostValues)

// crowded reports whether a JSON text has more objects or values than any document needs. Of a text
// that is no JSON it says anything.
func crowded(text []byte) bool {
	objects, values, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{':
			objects++
		case c == ',', c == '[':
			values++
		}
	}
	return objects > mostObjects || values > mostValues
}
