package report

import (
	"runtime"

	"crawlnode/crawl"
)

// load is how busy this node is with what its block does not tell elsewhere.
func (r *Reporter) load() *crawl.NodeLoad {
	l := &crawl.NodeLoad{Processors: runtime.GOMAXPROCS(0), Syncing: r.Config.Sync, FetchOff: r.Config.Fetch == "off"}
	for _, v := range r.Space.Short() {
		lack, until := v.Lacks()
		l.Short = append(l.Short, lack+": "+until)
	}
	if full := r.Outputs.Shortage(); len(l.Short) == 0 && !full.Since.IsZero() {
		l.Short = append(l.Short, "the archive finds no space at "+full.Path+
			": free some there, or allow more; it goes on by itself")
	}
	l.CPU, l.Machine, l.DiskWait = r.meter.Strain()
	l.CPU /= float64(l.Processors)
	if d, _ := r.Node.Engine(); d != nil {
		l.Lookups = d.Lookups()
	}
	return l
}
