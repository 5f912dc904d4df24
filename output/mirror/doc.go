// Package mirror writes the captures of a crawl as files that can be read without it: a tree by
// host and path, links between the files made relative, and a manifest.
//
// The steps of a run (Folder.Write), which reads a Source of captures:
//
//	take      each index line: the newest capture of a URL counts, but one that says nothing of
//	          the page (429, 5xx, 304) does not replace one that does
//	decide    what each URL is: a file, a redirect, or neither; the folders that will be needed
//	name      the file of each URL; names of earlier runs are kept
//	write     each file under a temporary name, renamed when it is whole, then its manifest line
//	tidy      lines that a later one replaces are left out of the manifest
//
// A name is made from the URL and the media type (see place). Two URLs never share a file, also on
// file systems that ignore case or normalise Unicode: the later one gets a hash of its URL in its
// name. So does a file whose name is that of a folder. Names avoid what some file systems refuse:
// reserved names, control characters, a final dot, more than 255 bytes. No name begins with a dot,
// so that a page cannot plant a .git or .htaccess.
//
// Everything in the folder is accessed through an os.Root, which follows no symbolic link out of
// it. A folder belongs to this package when it is empty or has a manifest; any other is refused.
//
// The manifest (manifest.jsonl) has a line for each URL with a response (Line). A line is written
// after its file has its final name, so after a kill every line is correct, and the next run
// repeats at most the files without one. A run does not rewrite a file whose capture is unchanged
// and, when the file has links, whose plan is unchanged: the plan is a hash of what was saved under
// which name. A file of an earlier run, for instance of another node's captures, stays and is
// linked to.
//
// Memory does not depend on the number of URLs: the data of each URL is in nameless files in the
// folder (table, journal), which need some 700 bytes a URL while the run lasts and disappear with
// it. Memory holds one page, decompressed to at most Folder.MaxBody bytes, and a buffer for each of
// these files. There is no queue and no goroutine. The context ends a run between two files.
package mirror
