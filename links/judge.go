package links

import (
	"crawlnode/crawl"
	"crawlnode/pipeline"
	"crawlnode/web/scope"
)

// judge checks a link against the scope: rules, and the scope entries of seeds. entry, unless it is
// "", is an entry that the link brings with it.
func judge(
	rules *scope.Rules,
	seeds *scope.Seeds,
	t *crawl.Target,
) (v scope.Verdict, entry string) {
	v = rules.Decide(t.URL, pipeline.ScopeDepth(t), seeds)
	if v.Admit || !pipeline.OpensScope(t.Via, t.Depth) || rules.Covers(t.URL, seeds) {
		return v, ""
	}
	entry = rules.EntryOf(t.URL)
	if v = rules.Decide(t.URL, pipeline.ScopeDepth(t), scope.NewSeeds([]string{entry})); !v.Admit {
		return v, ""
	}
	return v, entry
}
