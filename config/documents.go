package config

import (
	"errors"
	"net/url"
)

// Reading defines what is read of files that are no web pages.
type Reading struct {
	// Documents is off or on.
	Documents string `group:"output" placeholder:"off|on" default:"on" help:"Read text, title, author, dates, language and links of PDF, OOXML (docx, xlsx, pptx), ODF, EPUB, RTF and plain text, as of pages. Each file has 256 MiB of memory and 10 s, in a sandbox." live:"cluster"`
	// ExtractWith is the base URL of an Apache Tika server. Empty: there is none.
	ExtractWith string `name:"extract-with" group:"output" placeholder:"URL" help:"An Apache Tika server, such as http://127.0.0.1:9998, that reads this node's files of all other types, but pictures, sound, video, fonts and what pages are made of." live:"start"`
}

// validateDocuments checks the settings about documents.
func (c *Config) validateDocuments() error {
	if c.ExtractWith == "" {
		return nil
	}
	u, err := url.Parse(c.ExtractWith)
	switch {
	case err != nil:
		return errors.New("--extract-with: it is no URL: name a Tika server as http://127.0.0.1:9998")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("--extract-with: it begins with http:// or https:// and names a host, " +
			"such as http://127.0.0.1:9998")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("--extract-with: it has a scheme, a host, a port and a path, and nothing else")
	}
	return nil
}
