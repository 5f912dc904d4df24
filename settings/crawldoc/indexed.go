package crawldoc

import (
	"fmt"

	"github.com/zeebo/xxh3"

	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// Indexed tells which stored pages a search must not find: those that the scope, as it was changed, does not admit. version
// names the rules, with the scope entries that entries stands for; it is 0, and excludes nil, while the scope has not changed since
// the first URLs were admitted. The depth of a page is not judged.
func (b *Rulebook) Indexed(entries uint64, seeds *scope.Seeds) (version uint64, excludes func(url string) bool) {
	if !b.Doc.Rejudge {
		return 0, nil
	}
	s := &b.Doc.Settings
	version = xxh3.HashString(fmt.Sprintf("%q %q %q %v %v %x", s.Scope, s.Include, s.Exclude, s.Assets, s.AssetsSameHost, entries))
	return max(version, 1), func(url string) bool {
		u, err := urlnorm.ParseStored(url)
		return err != nil || !b.Rules.Decide(u, 0, seeds).Admit
	}
}
