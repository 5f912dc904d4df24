package node

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"crawlnode/crawl"
	"crawlnode/local/datadir"
	"crawlnode/output/dedupe"
)

// earlier knows what other archives have (--dedupe-against). It implements pipeline.Earlier.
type earlier struct {
	index *dedupe.Index
	log   *slog.Logger
	told  sync.Once
}

// openEarlier opens the indexes of other archives. With long ones the first start takes minutes,
// which the log announces.
func (n *Node) openEarlier() error {
	if len(n.cfg.DedupeAgainst) == 0 {
		return nil
	}
	making := func(bytes int64) {
		n.log.Info("reading the indexes of --dedupe-against; the next start does not, unless they "+
			"change", "bytes", bytes)
	}
	index, err := dedupe.Open(dedupe.Options{
		Files: n.cfg.DedupeAgainst, Dir: n.dir.Join("dedupe"), Making: making,
	})
	switch {
	case errors.Is(err, dedupe.ErrInput):
		return usageError(fmt.Errorf("--dedupe-against: %w", err))
	case err != nil:
		return datadir.Failed("open what other archives have", err)
	}
	n.log.Info("payloads of other archives are not stored again", "payloads", index.Len())
	n.earlier = &earlier{index: index, log: n.log}
	return nil
}

// Find implements pipeline.Earlier. A page of which nothing can be found out is stored: nothing is
// lost but space.
func (e *earlier) Find(d crawl.Digest) *crawl.Original {
	first, err := e.index.Find(d)
	if err != nil {
		e.told.Do(func() {
			e.log.Warn("what other archives have cannot be looked up, so that pages are stored again",
				"error", err)
		})
		return nil
	}
	return first
}
