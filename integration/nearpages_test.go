package integration

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crawlnode/web/htmlparse"
	"crawlnode/web/simhash"
	"crawlnode/web/urlnorm"
)

var nearResults = flag.Bool("nearpages", false,
	"write the figures of TestNearDuplicatesOfRealPages into docs/results")

// realPage is the text of a page of the real sites.
type realPage struct {
	site  string
	text  []byte
	print uint64
}

func readRealPages(t *testing.T) (pages []realPage) {
	t.Helper()
	base, err := urlnorm.Parse("http://site.test/")
	if err != nil {
		t.Fatal(err)
	}
	for _, site := range readManifest(t) {
		err := filepath.WalkDir(site.Docroot, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".html") {
				return err
			}
			body, err := os.ReadFile(path)
			if err != nil {
				return nil // a link that leads nowhere
			}
			doc := htmlparse.Parse(body, "text/html", base)
			if print, ok := simhash.Fingerprint(doc.Text); ok {
				pages = append(pages, realPage{site.Name, bytes.Clone(doc.Text), print})
			}
			return nil
		})
		if err != nil {
			unable(t, "needs %s, which make deps installs: %v", site.Package, err)
		}
	}
	return pages
}

// Real pages are found again when a few of their words have changed, and are not taken
// for pages of other sites.
func TestNearDuplicatesOfRealPages(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	pages := readRealPages(t)
	if len(pages) < 500 {
		t.Fatalf("%d pages with a fingerprint; `make deps` installs the sites", len(pages))
	}
	r := rand.New(rand.NewPCG(21, 22))
	var words []string
	for range 200 {
		words = append(words, strings.Split(string(pages[r.IntN(len(pages))].text), " ")...)
	}
	var row strings.Builder
	fmt.Fprintf(&row, "%d |", len(pages))
	for _, percent := range []int{0, 1, 2, 5, 20} {
		found := 0
		for _, p := range pages {
			changed := strings.Split(string(p.text), " ")
			for range (len(changed)*percent + 99) / 100 {
				changed[r.IntN(len(changed))] = words[r.IntN(len(words))]
			}
			print, ok := simhash.Fingerprint([]byte(strings.Join(changed, " ")))
			if ok && simhash.Distance(print, p.print) <= simhash.MaxDistance {
				found++
			}
		}
		fmt.Fprintf(&row, " %.1f %% |", 100*float64(found)/float64(len(pages)))
		if percent == 0 && found != len(pages) {
			t.Errorf("%d of %d unchanged pages are found", found, len(pages))
		}
	}
	var pairs, near, same, nearSame int
	for i := range pages {
		for k := range i {
			isNear := simhash.Distance(pages[i].print, pages[k].print) <= simhash.MaxDistance
			if pages[i].site == pages[k].site {
				if same++; isNear {
					nearSame++
				}
			} else if pairs++; isNear {
				near++
			}
		}
	}
	fmt.Fprintf(&row, " %d of %d (%.5f %%) | %d of %d (%.4f %%) |", near, pairs,
		100*float64(near)/float64(pairs), nearSame, same, 100*float64(nearSame)/float64(same))
	t.Log(row.String())
	if near*1000 > pairs {
		t.Errorf("%d of %d pairs of pages of different sites are near, more than 1 in 1,000", near, pairs)
	}
	if *nearResults {
		appendResult(t, "nearpages.md", "# Near-duplicates among real pages\n\n"+
			"Appended by `TestNearDuplicatesOfRealPages -nearpages`: the share of pages of the Debian "+
			"documentation that is found again\n"+
			"(distance 3 at most) when so many of its words are replaced by others of the same sites, "+
			"and the pairs of pages that are taken for near-duplicates.\n\n"+
			"| date (UTC) | commit | pages | 0 % changed | 1 % | 2 % | 5 % | 20 % | pairs of different "+
			"sites | of one site |\n|---|---|---|---|---|---|---|---|---|---|\n", row.String())
	}
}
