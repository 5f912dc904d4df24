package layout

import (
	"reflect"
	"testing"

	"crawlnode/importance/opic"
)

// FuzzCashLog: what is read of the tables of importance is written to the same.
func FuzzCashLog(f *testing.F) {
	links := []opic.Target{{Partition: 1, URL: 2}, {Partition: 1, URL: 3}, {Partition: 9, URL: 1}}
	for _, b := range [][]byte{
		EncodeCashVisit(&CashVisit{URL: 5, Site: 9, Links: links}), EncodeCashLinks(3, links),
		EncodeMark(7),
		EncodeCashCredits(
			[]opic.Entry{{Site: 4, Credits: []opic.Credit{{URL: 1, Amount: -5, Links: 1}}}, {}}),
		EncodeCashDeltas([]opic.Delta{{URL: 1, Amount: 5, Links: 1}}), nil, {FormatVersion}, {9},
		EncodeCashTotals(
			&CashTotalsEntry{Ledger: opic.Ledger{Minted: 4}, Least: 2, Next: 5, Accounts: 1, Pages: 1}),
	} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if e, err := DecodeCashLog(b); err == nil {
			var again []byte
			switch {
			case e.Visit != nil:
				again = EncodeCashVisit(e.Visit)
			case e.Deltas != nil:
				again = EncodeCashDeltas(e.Deltas)
			case e.Credits != nil:
				again = EncodeCashCredits(e.Credits)
			default:
				return // nothing in it
			}
			if same, err := DecodeCashLog(again); err != nil || !reflect.DeepEqual(same, e) {
				t.Fatalf("log entry %+v became %+v, %v", e, same, err)
			}
		}
		if site, links, err := DecodeCashLinks(nil, b); err == nil {
			if s, l, err := DecodeCashLinks(nil, EncodeCashLinks(site, links)); err != nil || s != site ||
				!reflect.DeepEqual(l, links) {
				t.Fatalf("links %v became %v, %v", links, l, err)
			}
		}
		if s, err := DecodeCashTotals(b); err == nil && b != nil {
			if again, err := DecodeCashTotals(EncodeCashTotals(&s)); err != nil || again != s {
				t.Fatalf("sums %+v became %+v, %v", s, again, err)
			}
		}
		if m, err := DecodeMark(b); err == nil {
			if again, err := DecodeMark(EncodeMark(m)); err != nil || again != m {
				t.Fatalf("mark %d became %d, %v", m, again, err)
			}
		}
	})
}

// Credits of another member have no more links than pages have.
func TestForeignCreditsHaveFewLinks(t *testing.T) {
	t.Parallel()
	for links, ok := range map[int32]bool{
		1:                   true,
		maxCreditLinks:      true,
		-maxCreditLinks:     true,
		maxCreditLinks + 1:  false,
		-maxCreditLinks - 1: false,
		1<<31 - 1:           false,
	} {
		b := EncodeCashCredits([]opic.Entry{{Credits: []opic.Credit{{URL: 1, Links: links}}}})
		if _, err := DecodeCashCredits(b); (err == nil) != ok {
			t.Errorf("%d links: %v", links, err)
		}
	}
}
