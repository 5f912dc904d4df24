package config

import (
	"errors"
	"time"

	"crawlnode/crawl"
)

// Rendering defines which pages are shown to a browser, and how. Which pages is a matter of the
// cluster, the browser one of each node.
type Rendering struct {
	// Render is off, auto or all.
	Render string `group:"render" placeholder:"off|auto|all" default:"off" help:"Show pages to Chromium before their text and links are taken: all, every HTML page; auto, those that seem to need it. What their scripts load is fetched by the rules of the crawl." live:"cluster"`
	// RenderMatch are patterns as those of Include.
	RenderMatch []string `name:"render-match" group:"render" sep:"none" placeholder:"PATTERN" help:"With --render auto: show these pages, whatever they look like; with all: only these. Patterns as --include has them; repeatable." live:"cluster"`
	// RenderScreenshot also archives a picture.
	RenderScreenshot bool `name:"render-screenshot" group:"render" help:"Archive a picture (PNG) of each page that is shown; images and fonts are fetched for it." live:"cluster"`
	// Renderers are pages at one time; 0: one per processor.
	Renderers int `group:"render" placeholder:"N" default:"0" help:"Pages in this node's browser at one time; 0: one per processor." min:"0" max:"256" live:"start"`
	// RenderTimeout bounds one page.
	RenderTimeout time.Duration `name:"render-timeout" group:"render" placeholder:"DURATION" default:"30s" help:"Time limit of one page in the browser; it is then read as it is." live:"start"`
	// RenderMemory bounds the browser's processes together.
	RenderMemory Size `name:"render-memory" group:"render" placeholder:"SIZE" default:"1GiB" help:"Memory limit of the browser's processes together; above it they are ended and started again." min:"128MiB" live:"start"`
	// Browser is a path. Empty: the first that is installed.
	Browser string `group:"render" placeholder:"PATH" help:"The browser (default: chromium-headless-shell, chromium or google-chrome, whichever is installed first in this order)." live:"start"`
}

// validateRender checks the settings of rendering, all of them whatever the mode is.
func (c *Config) validateRender() error {
	problems := []error{
		checkDuration("render-timeout", c.RenderTimeout, 0, 10*time.Minute),
	}
	if c.RenderTimeout >= 0 && c.RenderTimeout < time.Second {
		problems = append(problems, errors.New("--render-timeout: a page needs at least 1s"))
	}
	return errors.Join(append(problems, checkPatterns("render-match", c.RenderMatch))...)
}

// checkRenderAlone reports settings of the crawl that say what becomes of pages in a browser while
// no page is shown to one. An explicit off is meant: the mode can be changed while the crawl runs.
// In settings of a running crawl, off is as explicit.
func (c *Config) checkRenderAlone(from origins) error {
	if _, chosen := from["render"]; chosen || c.Render != crawl.RenderOff {
		return nil
	}
	var problems []error
	if len(c.RenderMatch) > 0 {
		problems = append(problems, errors.New("--render-match: does nothing without --render: "+
			"add --render auto, for these pages and those that seem to need a browser, or --render all, "+
			"for these alone"))
	}
	if c.RenderScreenshot {
		problems = append(problems, errors.New("--render-screenshot: does nothing without --render: "+
			"add --render auto or --render all, because a picture is taken of pages that are shown to "+
			"a browser"))
	}
	return errors.Join(problems...)
}
