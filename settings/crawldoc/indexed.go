package crawldoc

import (
	"fmt"

	"github.com/zeebo/xxh3"

	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// Indexed tells which stored pages a search must not find: those that the scope, as it was
// changed, does not admit, and those that rules for sites leave out of the index. version names
// the rules, with the scope entries that entries stands for; it is 0, and excludes nil, while the
// scope has not changed since the first URLs were admitted and no rule for sites speaks of the
// index. The depth of a page is not judged.
func (b *Rulebook) Indexed(
	entries uint64,
	seeds *scope.Seeds,
) (version uint64, excludes func(url string) bool) {
	s, table := &b.Doc.Settings, b.Pipeline.Sites
	bySite := s.Index && table.LeavesOut() || !s.Index && table.Indexes()
	if !b.Doc.Rejudge && !bySite {
		return 0, nil
	}
	var text []byte
	if b.Doc.Rejudge {
		text = fmt.Appendf(text, "%q %q %q %v %v %x", s.Scope, s.Include, s.Exclude, s.Assets,
			s.AssetsSameHost, entries)
	}
	if b.Doc.Rejudge && table.Scopes() {
		text = append(text, table.File().Texts("include", "exclude", "max-depth")...)
	}
	if bySite {
		text = fmt.Appendf(text, " index %v%s", s.Index, table.File().Texts("index"))
	}
	version = max(xxh3.Hash(text), 1)
	return version, func(url string) bool {
		u, err := urlnorm.ParseStored(url)
		if err != nil {
			return true
		}
		return bySite && !b.indexes(u) || b.Doc.Rejudge && !b.Rules.Decide(u, 0, seeds).Admit
	}
}

// indexes reports whether a page is for the index.
func (b *Rulebook) indexes(u urlnorm.URL) bool {
	if site := b.Pipeline.Sites.Of(u); site != nil {
		return site.Settings.Index
	}
	return b.Doc.Settings.Index
}
