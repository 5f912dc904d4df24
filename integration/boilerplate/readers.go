package main

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/markusmobius/go-trafilatura"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"golang.org/x/net/html"

	"crawlnode/web/maintext"
	"crawlnode/web/markdown"
	"crawlnode/web/urlnorm"
)

// reader finds the main text of a page. Reading is what is timed; text is called afterwards.
type reader struct {
	name string
	read func(page []byte, address string) (text func() string, err error)
}

const contentType = "text/html; charset=utf-8"

var readers = []reader{
	{"the whole page", func(page []byte, _ string) (func() string, error) {
		doc, err := html.Parse(bytes.NewReader(page))
		return func() string { return textOf(doc) }, err
	}},
	{"crawlnode, text", func(page []byte, _ string) (func() string, error) {
		p := maintext.Extract(page, contentType, "")
		return func() string { return p.Text }, nil
	}},
	{"crawlnode, Markdown", readMarkdown},
	{"trafilatura", trafilaturaWith(trafilatura.Options{})},
	{"trafilatura, fallback", trafilaturaWith(trafilatura.Options{EnableFallback: true})},
	{"trafilatura, recall", trafilaturaWith(trafilatura.Options{
		EnableFallback: true, Focus: trafilatura.FavorRecall,
	})},
	{"readability", func(page []byte, address string) (func() string, error) {
		u, err := url.Parse(address)
		if err != nil {
			return nil, err
		}
		article, err := readability.FromReader(bytes.NewReader(page), u)
		return func() string { return textOf(article.Node) }, err
	}},
}

// readMarkdown reads our Markdown by another program's rules of Markdown, so that its signs are no
// words.
func readMarkdown(page []byte, address string) (func() string, error) {
	u, err := urlnorm.Parse(address)
	if err != nil {
		return nil, err
	}
	md, err := markdown.Of(page, contentType, u)
	return func() string {
		gfm := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough))
		var out bytes.Buffer
		if err := gfm.Convert([]byte(md), &out); err != nil {
			panic(fmt.Sprintf("BUG: writing to memory failed: %v", err))
		}
		doc, err := html.Parse(&out)
		if err != nil {
			panic(fmt.Sprintf("BUG: reading from memory failed: %v", err))
		}
		return textOf(doc)
	}, err
}

func trafilaturaWith(o trafilatura.Options) func([]byte, string) (func() string, error) {
	return func(page []byte, address string) (func() string, error) {
		u, err := url.Parse(address)
		if err != nil {
			return nil, err
		}
		o.OriginalURL = u
		found, err := trafilatura.Extract(bytes.NewReader(page), o)
		if err != nil {
			return nil, err
		}
		// It takes some paragraphs for comments of readers, and gives them apart.
		return func() string {
			return strings.Join([]string{textOf(found.ContentNode), textOf(found.CommentsNode)}, " ")
		}, nil
	}
}
