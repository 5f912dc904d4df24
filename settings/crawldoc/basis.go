package crawldoc

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/zeebo/xxh3"

	"crawlnode/crawl"
)

// reading is the version of how pages are read. Raise it with a change of that which a program
// without a noted commit shall apply to unchanged pages too.
const reading = 1

// program is a hash of what this program was built from, as far as the build has noted it: another
// program may read the same page in another way.
var program = sync.OnceValue(func() uint64 {
	built := fmt.Sprint(reading)
	if info, ok := debug.ReadBuildInfo(); ok {
		built += " " + info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
				built += " " + s.Value
			}
		}
	}
	return xxh3.HashString(built)
})

// basisOf is pipeline.Rules.Basis: a hash of all settings, and of the program. Most settings do not
// matter for the reading of pages; that each page is read once more after any change costs little,
// and to forget one would keep pages as they were.
func basisOf(c *crawl.Settings) (uint64, error) {
	b, err := json.Marshal(c)
	if err != nil {
		return 0, fmt.Errorf("the settings cannot be written: %w", err)
	}
	return max(xxh3.Hash(b)^program(), 1), nil
}
