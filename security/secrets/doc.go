// Package secrets reads the file of --secrets, which has the passwords, tokens and paths of cookie
// files that rules for sites name as secret:NAME. The rules are the cluster's; the secrets stand in
// a file on each node, and go to nobody but the web servers and proxies that a rule names.
//
//	value.go       Value: one secret, which prints as <redacted>
//	set.go         Set: the secrets of one reading of the file
//	store.go       Store: the current Set, and the next one after SIGHUP
//	cookiefile.go  CookieFile: cookies in the format of Netscape and curl
//	private.go     reads a file that nobody else may read
//
// # The files
//
// The secrets have a line NAME=VALUE each. A name has letters, digits, "-", "_" and "."; the value
// is the rest of the line as it is. Empty lines and lines that begin with # are left out. A secret
// that is the path of a cookie file is relative to the folder of the secrets file.
//
// Both files must be readable by their owner alone, and are bounded (maxFile, maxLines, maxValue,
// maxCookies). Errors name the line and never what stands in it: a line that is wrong may be a
// password that lacks its name. The path of a cookie file is the value of a secret, and anybody who
// may change the rules may name any secret as one, so errors leave the path out as well.
//
// # The life of a Store
//
// Open reads the file, and a mistake is the error of the start. Reload reads it again; after a
// mistake the old set stays. A cookie file is read when it is asked for first, and again by Reload.
// All methods may be called from any goroutine; Reload reads files on that of its caller. The
// package starts none.
package secrets
