package command

import (
	"cmp"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/web/preferences"
)

// Obeying are the flags of the verbs that give away what a crawl has stored: whether pages are left
// out whose owner said no. They have the names and the meaning of the crawl's.
type Obeying struct {
	Preferences string `group:"output" placeholder:"ignore|mark|obey" help:"obey: leave out captures whose owner said no to one of --purpose when they were made. Default: the crawl's own setting; without one, mark, which leaves nothing out."`
	Purpose     string `group:"output" placeholder:"LIST" help:"What it is for: any of search, archive, ai-input, ai-train. Default: the crawl's own setting."`
}

// Purposes returns what owners are obeyed about; none: nothing is left out. own are the settings of
// the crawl; nil: they are not known.
func (o *Obeying) Purposes(own *crawl.Settings) (preferences.Purposes, error) {
	var s crawl.Settings
	if own != nil {
		s = *own
	}
	switch o.Preferences {
	case "", crawl.PreferencesIgnore, crawl.PreferencesMark, crawl.PreferencesObey:
	default:
		return 0, fmt.Errorf("--preferences must be ignore, mark or obey, not %.40q", o.Preferences)
	}
	s.Preferences, s.Purpose = cmp.Or(o.Preferences, s.Preferences), cmp.Or(o.Purpose, s.Purpose)
	if s.Purpose != "" {
		if _, err := preferences.ParsePurposes(s.Purpose); err != nil {
			return 0, fmt.Errorf("--purpose: %w", err)
		}
	}
	return s.Obeyed(), nil
}
