package command

import (
	"fmt"

	"crawlnode/config"
	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// Excluding are the flags of the verbs that read what a crawl has stored and can leave a part of it
// out, such as a calendar that was crawled by mistake. They have the names and the patterns of the
// crawl's.
type Excluding struct {
	Exclude      []string `group:"scope" sep:"none" placeholder:"PATTERN" help:"Leave out captures of URLs that match, written as the crawl's --exclude; repeatable."`
	ExcludeFiles []string `name:"exclude-file" group:"scope" sep:"none" placeholder:"FILE" help:"File with one --exclude pattern per line; repeatable."`
}

// Excluded returns what says whether a stored URL is left out; nil: none is.
func (x *Excluding) Excluded() (func(url string) bool, error) {
	texts := x.Exclude
	for _, file := range x.ExcludeFiles {
		more, err := config.ReadPatterns(file)
		if err != nil {
			return nil, fmt.Errorf("--exclude-file: %w", err)
		}
		texts = append(texts, more...)
	}
	if len(texts) == 0 {
		return nil, nil
	}
	var patterns []scope.Pattern
	for _, text := range texts {
		p, err := scope.ParsePattern(text)
		if err != nil {
			return nil, fmt.Errorf("--exclude %.100q: %w", text, err)
		}
		patterns = append(patterns, p)
	}
	return func(url string) bool {
		u, err := urlnorm.ParseRouted(url)
		if err != nil {
			return false // of other schemes, which patterns do not speak of
		}
		for _, p := range patterns {
			if p.Matches(u) {
				return true
			}
		}
		return false
	}, nil
}
