package frontier

import (
	"bytes"
	"maps"
	"slices"

	"crawlnode/crawl"
	"crawlnode/frontier/cash"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
	"crawlnode/importance/opic"
)

// older leaves the links of a partition's pages as builds before 0.3 wrote them (decision 0211):
// each page has an entry of its own, and what was folded is not in the log.
func (w *cashWorld) older(p crawl.Partition) {
	w.t.Helper()
	v, err := w.r.w.Read(p)
	w.r.must(err)
	defer v.Close()
	totals, err := cash.Totals(v)
	w.r.must(err)
	totals.Folds, totals.Folded = 0, 0
	sets := []storage.Entry{{Key: []byte(layout.CashTotals), Value: layout.EncodeCashTotals(&totals)}}
	pages := map[opic.URL]opic.Account{}
	it := v.Iterate([]byte{layout.TableCash})
	defer it.Close()
	for it.Seek(v.Abs([]byte{layout.TableCash, layout.CashAccounts})); it.Valid(); it.Next() {
		rel := bytes.Clone(it.Key()[layout.PrefixLen:])
		value, err := it.Value()
		w.r.must(err)
		switch rel[1] {
		case layout.CashAccounts:
			block := opic.Block{Bytes: bytes.Clone(value)}
			mine := map[opic.URL]opic.Account{}
			w.r.must(block.Accounts(func(u opic.URL, a opic.Account) { mine[u] = a }))
			var deltas []opic.Delta
			for _, u := range slices.Sorted(maps.Keys(mine)) {
				deltas = append(deltas, opic.Delta{URL: u})
			}
			blocks, err := block.Fold(deltas, func(_ opic.URL, _ opic.Account, a *opic.Account) { a.At = 0 })
			w.r.must(err)
			if len(blocks) == 1 { // else it was about to be divided, and stays
				sets = append(sets, storage.Entry{Key: rel, Value: blocks[0].Bytes})
				maps.Copy(pages, mine)
			}
		case layout.CashLog:
			e, err := layout.DecodeCashLog(value)
			w.r.must(err)
			if number, _ := layout.ParseCashKey(rel, layout.CashLog); e.Visit != nil &&
				pages[e.Visit.URL].At == number {
				sets = append(sets, storage.Entry{Key: rel},
					storage.Entry{
						Key:   layout.AppendCashKey(nil, layout.CashLinks, uint64(e.Visit.URL)),
						Value: layout.EncodeCashLinks(e.Visit.Site, e.Visit.Links),
					})
			}
		}
	}
	w.r.must(w.r.w.Change(w.t.Context(), func(g *commit.Group) error {
		for _, e := range sets {
			if len(e.Value) == 0 {
				g.Part(p).Del(e.Key)
			} else {
				g.Part(p).Set(e.Key, e.Value)
			}
		}
		return nil
	}))
}
