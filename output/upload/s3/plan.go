package s3

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// File is a finished local file.
type File struct {
	Name     string // folder/file, such as warc/x.warc.gz
	Bytes    int64
	Finished time.Time
}

// isIndex reports whether a file is the index of an archive file.
func (f *File) isIndex() bool { return strings.HasSuffix(f.Name, ".cdxj") }

// indexOf is the name of an archive file's index; "" for other files.
func indexOf(name string) string {
	base, _, ok := strings.Cut(name, ".warc.")
	if !ok || !strings.HasPrefix(name, "warc/") {
		return ""
	}
	return base + ".cdxj"
}

// Plan says what is to be done.
type Plan struct {
	Send []File // the oldest first
	Drop []File // may be removed: the store has them
}

// Make decides from the files that are there and the names that the store has. An archive file goes
// only when its index was sent too, so that what is in the store can always be found.
func Make(files []File, sent func(name string) bool, keep Keep) (p Plan) {
	files = slices.Clone(files)
	slices.SortFunc(files,
		func(a, b File) int {
			return cmp.Or(a.Finished.Compare(b.Finished), cmp.Compare(a.Name, b.Name))
		})
	kept := int64(0)
	var droppable []File
	for _, f := range files {
		if !sent(f.Name) {
			p.Send = append(p.Send, f)
			continue
		}
		index := indexOf(f.Name)
		switch {
		case keep.All, keep.Index && f.isIndex():
		case index != "" && !sent(index):
		default:
			droppable = append(droppable, f)
			kept += f.Bytes
		}
	}
	for _, f := range droppable { // the oldest first, until what stays fits
		if keep.Bytes > 0 && kept <= keep.Bytes {
			break
		}
		p.Drop = append(p.Drop, f)
		kept -= f.Bytes
	}
	return p
}

// Pauses returns the pauses after failures in a row: half a second to a second at first, doubling
// to 15 to 30 s. So a store that is back is used within a minute, and not by all nodes at once.
func Pauses() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval: 750 * time.Millisecond, MaxInterval: 22500 * time.Millisecond,
		Multiplier: 2, RandomizationFactor: 1.0 / 3,
	}
}
