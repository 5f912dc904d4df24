// Package sites is the verbs about the rules for sites: they show, replace, edit and test the YAML
// text that crawlnode crawl-config knows as the setting sites. The rules themselves are judged by
// package config, here or in the node that is asked.
//
// Edit runs the person's editor and waits for its end. The package starts no goroutine.
package sites
