package wall

import "testing"

// article is the text of an ordinary page, of some 120 words, in one paragraph.
var article = "<p>" + words(120) + "</p>"

// nav are the links at the top of a page.
const nav = `<nav><a href="/">Start</a> <a href="/a">News</a> <a href="/b">Shop</a></nav>`

// moreWalls are answers in other languages, in other forms, and of products that changed theirs.
var moreWalls = []struct {
	name   string
	want   Product
	status int
	header string
	body   string
}{
	{"cloudflare in German", Cloudflare, 403, "Server: cloudflare",
		page("Nur einen Moment…",
			`<script>(function(){window._cf_chl_opt = {cType:'managed'};})();</script><noscript>JavaScript und Cookies aktivieren</noscript>`)},
	{"cloudflare in Japanese", Cloudflare, 503, "Server: cloudflare\nCf-Ray: 1",
		page("しばらくお待ちください...",
			`<script>window._cf_chl_opt={cvId:'3'}</script><script src="/cdn-cgi/challenge-platform/h/g/orchestrate/chl_page/v1?ray=1"></script>`)},
	{"cloudflare challenge with status 200", Cloudflare, 200, "Server: cloudflare",
		page("Just a moment...", `<script>window._cf_chl_opt={}</script>`)},
	{"cloudflare orchestrator alone, behind another proxy", Cloudflare, 403, "Server: nginx",
		page("Un momento…", //nolint:misspell // Spanish
			`<div id="challenge-error-text">Habilita JavaScript</div><script>a.src='/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1?ray=1'</script>`)},
	{"cloudflare block in French", Cloudflare, 403, "Server: cloudflare",
		page("Attention Required! | Cloudflare",
			`<div id="cf-error-details" class="cf-error-details-wrapper"><h1>Désolé, vous avez été bloqué</h1></div>`)},
	{"cloudflare block of a firewall rule, 1015", Cloudflare, 429, "Server: cloudflare",
		page("Access denied | shop.test used Cloudflare to restrict access",
			`<div id="cf-error-details">Error 1015 You are being rate limited</div>`)},
	{"cloudflare as plain text", Cloudflare, 403, "Server: cloudflare\nContent-Type: text/plain",
		"error code: 1020"},
	{"cloudflare as plain text, 1010", Cloudflare, 403,
		"Server: cloudflare\nContent-Type: text/plain", "error code: 1010"},
	{"cloudflare without a head", Cloudflare, 403, "Server: cloudflare",
		`<div id="cf-error-details"></div>Sorry, you have been blocked`},
	{"akamai without html", Akamai, 403, "Server: AkamaiGHost\nContent-Type: text/plain",
		`Access Denied. You don't have permission to access "http://shop.test/" on this server. Reference #18.aa.bb https://errors.edgesuite.net/18.aa.bb`},
	{"akamai in upper-case tags", Akamai, 403, "",
		"<HTML><HEAD>\n<TITLE>Access Denied</TITLE>\n</HEAD><BODY>\n<H1>Access Denied</H1>\n" +
			"You don't have permission to access \"http&#58;&#47;&#47;a&#46;test&#47;\" on this " +
			"server.<P>\nReference&#32;&#35;18&#46;c&#46;1&#46;a\n<P>\n" +
			"https&#58;&#47;&#47;errors&#46;edgesuite&#46;net&#47;18&#46;c\n</P>\n</BODY>\n</HTML>\n"},
	{"akamai interstitial with meta refresh", Akamai, 200, "Content-Type: text/html",
		`<html><head><meta http-equiv="refresh" content="5; URL='/?bm-verify=AAQAAAAN'" /></head><body><script>var i=1;xhr.open("POST","/_sec/verify?provider=interstitial",false)</script></body></html>`},
	{"imperva with status 200 and an incident", Imperva, 200, "X-Iinfo: 1-2-3",
		`<html style="height:100%"><head><META NAME="ROBOTS" CONTENT="NOINDEX, NOFOLLOW"></head><body><iframe id="main-iframe" src="/_Incapsula_Resource?CWUDNSAI=27&xinfo=3&incident_id=123&edet=12&cinfo=04" frameborder=0>Request unsuccessful. Incapsula incident ID: 123-456</iframe></body></html>`},
	{"imperva error 15 page", Imperva, 403, "X-Cdn: Imperva", page("Access denied",
		`<div>Error 15</div><div>This request was blocked by our security service</div><p>Your IP: 1.2.3.4 Proxy ID: 1 Incident ID: 1-2</p><a>Powered by Imperva</a>`)},
	{"datadome in JSON for a script", DataDome, 403,
		"X-Datadome: protected\nContent-Type: application/json",
		`{"url":"https:\/\/geo.captcha-delivery.com\/captcha\/?initialCid=AHrlq&hash=1&t=fe"}`},
	{"datadome with a title in French", DataDome, 403, "", page("lemonde.test",
		`<p id="cmsg">Veuillez activer JS et désactiver votre bloqueur</p><script data-cfasync="false">var dd={'rt':'c','cid':'A','hsh':'1','t':'bv','s':1,'e':'x','host':'geo.captcha-delivery.com'}</script>`)},
	{"datadome hard block", DataDome, 403, "X-Datadome: protected\nServer: DataDome",
		`<html><head><title>a.test</title></head><body><script>var dd={'rt':'c','t':'bv'}</script></body></html>`},
	{"human in Spanish", Human, 403, "", page("Se ha denegado el acceso a esta página",
		`<script>window._pxAppId = 'PXabc'; window._pxJsClientSrc='/abc/init.js'; window._pxHostUrl='/abc/xhr';</script><div id="px-captcha"></div>`)},
	{"human, a block page of a customer", Human, 429, "", page("Robot or human?",
		`<div id="px-captcha" class="px"></div><script src="https://captcha.px-cloud.net/PXabc/captcha.js"></script>`)},
	{"aws as JSON", AWSWAF, 405, "X-Amzn-Waf-Action: captcha\nContent-Type: application/json",
		`{"message":"captcha"}`},
	{"cloudfront blocks", AWSWAF, 403, "Server: CloudFront\nX-Cache: Error from cloudfront",
		`<HTML><HEAD><TITLE>ERROR: The request could not be satisfied</TITLE></HEAD><BODY><H1>403 ERROR</H1><H2>The request could not be satisfied.</H2><HR noshade size="1px">Request blocked. We can't connect to the server for this app or website at this time. There might be too much traffic or a configuration error.<PRE>Generated by cloudfront (CloudFront)</PRE></BODY></HTML>`},
	{"anubis in Chinese", Anubis, 200, "", page("确认你是不是机器人！",
		`<link rel="stylesheet" href="/.within.website/x/xess/xess.min.css"><script id="anubis_version" type="application/json">"v1.22"</script><script id="anubis_challenge" type="application/json">{}</script><script type="module" src="/.within.website/x/cmd/anubis/static/js/main.mjs"></script>`)},
	{"anubis by meta refresh", Anubis, 200, "", page("Making sure you're not a bot!",
		`<meta http-equiv="refresh" content="4; url=/.within.website/x/cmd/anubis/api/pass-challenge?challenge=x"><p>Loading...`)},
	{"anubis at another prefix", Anubis, 200, "", page("Making sure you're not a bot!",
		`<script id="anubis_challenge" type="application/json">{"rules":{"algorithm":"fast"}}</script><script id="anubis_base_prefix" type="application/json">"/git"</script>`)},
	{"sucuri block in a new design", Sucuri, 403, "Server: Sucuri/Cloudproxy\nX-Sucuri-Block: 1",
		page("Sucuri WebSite Firewall - Access Denied",
			`<p>Block reason: Bad bot access attempt.`)},
	{"kasada with status 429 and a script", Kasada, 429, "X-Kpsdk-Ct: 0",
		`<!DOCTYPE html><html><head></head><body><script>window.KPSDK={};KPSDK.now=typeof performance!=='undefined'</script></body></html>`},
	{"f5 refusal in another language", F5, 200, "Server: BIG-IP",
		`<html><head><title>Request Rejected</title></head><body>La URL solicitada fue rechazada. Consulte con su administrador.<br><br>Your support ID is: 18446744073709551615<br><br><a href='javascript:history.back();'>[Go Back]</a></body></html>`},
	{"f5 with status 403", F5, 403, "",
		`<html><head><title>Request Rejected</title></head><body>The requested URL was rejected. Please consult with your administrator.<br><br>Your support ID is: 123</body></html>`},
	{"fastly in French", Fastly, 200, "X-Served-By: cache-cdg-1", page("Client Challenge",
		`<link rel="stylesheet" href="/_fs-ch-1T1wmsGaOgGaSxcX/assets/styles.css"><script src="/_fs-ch-1T1wmsGaOgGaSxcX/script.js?reload=true"></script><noscript>JavaScript est désactivé.</noscript>`)},
	{"vercel checkpoint without its header", Vercel, 429, "Server: Vercel",
		page("Vercel Security Checkpoint", `<p id="header-text">We're verifying your browser</p>`)},
	{"radware by redirect page", Radware, 200, "", page("Radware Captcha Page",
		`<script src="https://validate.perfdrive.com/fb/sb.js"></script>`)},
	{"ddos-guard in Russian", DDoSGuard, 403, "Server: ddos-guard", page("DDoS-Guard",
		`<div data-ddg-origin="true"></div><p>Проверка браузера перед переходом<script src="/.well-known/ddos-guard/check?context=free"></script>`)},
	{"qrator refusal", Qrator, 403, "Server: QRATOR", page("HTTP 403",
		`<p>Доступ ограничен. <a href="https://qrator.net/">qrator</a><script src="/__qrator/qauth_utm_v2d.js"></script>`)},
	{"yandex smartcaptcha", Other, 200, "", page("Вы не робот?",
		`<form><div class="smart-captcha"></div></form><script src="https://smartcaptcha.yandexcloud.net/captcha.js"></script>`)},
	{"a turnstile page of nobody known, in German", Other, 403, "", page("Sicherheitsprüfung",
		`<div class="cf-turnstile" data-sitekey="x"></div><script src="https://challenges.cloudflare.com/turnstile/v0/api.js"></script>`)},
	{"a captcha that is typed", Other, 429, "", page("Robot Check",
		`<form action="/errors/validateCaptcha"><img src="/captcha/abc.jpg"><input type="text" id="captchacharacters" name="field-keywords"></form><script src="https://www.google.com/recaptcha/api.js"></script>`)},
	{"azure front door", Azure, 403, "X-Azure-Ref: 0abc",
		`<html><head><title>Azure WAF</title></head><body><div>The request is blocked.</div><p>0abc</p></body></html>`},
	{"azure front door without a title", Azure, 403, "X-Azure-Ref: 0abc",
		`<h2>The request is blocked.</h2> 20240101T000000Z`},
	{"imunify360 splash", Imunify360, 200, "Server: imunify360-webshield/1.18",
		page("One moment, please...",
			`<h1>Please wait while your request is being verified...</h1><form id="wsidchk-form" action="/z0f76a1d14fd21a8fb5fd0d03e0fdc3d3cedae52f"></form>`)},
	{"wordfence in Dutch", Wordfence, 403, "", page("Uw toegang tot deze site is beperkt",
		`<p>Toegang geblokkeerd. Generated by Wordfence at Mon, 1 Jan. Wordfence, a security plugin installed on sites that use WordPress.`)},
	{"reblaze without its server", Reblaze, 247, "X-Reblaze-Protection: 1", page("",
		`<script>window.rbzns={bereshit:"1",seed:"2"};rbzns.challdomain="a.test"</script>`)},
	{"fortiweb's page", FortiWeb, 403, "", page("Web Page Blocked!",
		`<p>The page cannot be displayed.</p><p>URL: a.test/ Attack ID: 20000051 Message ID: 001</p>`)},
	{"arvancloud in Persian", ArvanCloud, 200, "Server: ArvanCloud",
		page("در حال انتقال به سایت مورد نظر هستید...",
			`<script>function __arcsjsc(){}</script><script src="/__arcsjs/x.js"></script>`)},
}

// moreDoors are ordinary answers that look like walls.
var moreDoors = []struct {
	name   string
	status int
	header string
	body   string
}{
	{"nginx 403", 403, "Server: nginx/1.26",
		"<html>\r\n<head><title>403 Forbidden</title></head>\r\n<body>\r\n" +
			"<center><h1>403 Forbidden</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>"},
	{"nginx 429", 429, "Server: nginx", page("429 Too Many Requests",
		"<center><h1>429 Too Many Requests</h1></center><hr><center>nginx</center>")},
	{"nginx 503 behind cloudflare", 503, "Server: cloudflare\nCf-Ray: 1",
		page("503 Service Temporarily Unavailable",
			"<center><h1>503 Service Temporarily Unavailable</h1></center>")},
	{"IIS 403", 403, "Server: Microsoft-IIS/10.0", page("403 - Forbidden: Access is denied.",
		`<div id="header"><h1>Server Error</h1></div><h2>403 - Forbidden: Access is denied.</h2><h3>You do not have permission to view this directory or page using the credentials that you supplied.</h3>`)},
	{"Apache 403", 403, "Server: Apache/2.4",
		"<!DOCTYPE HTML PUBLIC \"-//IETF//DTD HTML 2.0//EN\">\n<html><head>\n" +
			"<title>403 Forbidden</title>\n</head><body>\n<h1>Forbidden</h1>\n" +
			"<p>You don't have permission to access this resource.</p>\n<hr>\n<address>Apache</address>\n" +
			"</body></html>"},
	{"S3 403", 403, "Server: AmazonS3\nContent-Type: application/xml",
		`<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>`},
	{"cloudfront 404", 404, "Server: CloudFront", page("ERROR: The request could not be satisfied",
		"Generated by cloudfront (CloudFront)")},
	{"cloudfront origin error 503", 503, "Server: CloudFront",
		page("ERROR: The request could not be satisfied",
			"The Lambda function associated with the CloudFront distribution is invalid. "+
				"We can't connect to the server for this app or website at this time.")},
	{"WordPress maintenance", 503, "Retry-After: 600", page("Maintenance",
		"Briefly unavailable for scheduled maintenance. Check back in a minute.")},
	{"German maintenance", 503, "Server: cloudflare", page("Wartungsarbeiten",
		"Einen Moment bitte, wir sind gleich wieder da.")},
	{"maintenance with a captcha script in its template", 503, "", page("Wartungsarbeiten",
		words(100)+`<script src="https://www.google.com/recaptcha/api.js"></script>`)},
	{"soft 404", 200, "", page("Page not found", nav+"<p>The page that you want is not here.")},
	{"cookie wall", 200, "", page("Cookie-Einstellungen",
		"<h1>Wir verwenden Cookies</h1><p>Mit Werbung weiterlesen oder Abo "+
			"abschließen.</p><button>Akzeptieren</button>")},
	{"cookie wall of a newspaper with datadome", 200, "X-Datadome: protected\nServer: DataDome",
		page("Zustimmung",
			`<script src="https://js.datadome.co/tags.js"></script><h1>Ihre Privatsphäre</h1><button>OK</button>`)},
	{"cookie wall behind cloudflare", 200, "Server: cloudflare\nCf-Ray: 1",
		page("Before you continue", `<form action="/consent"><button>Accept all</button></form>`)},
	{"paywall", 200, "", page("An article", nav+words(60)+"Subscribe to read on.")},
	{"paywall with status 403", 403, "", page("Subscribe",
		"<h1>Subscribe to continue reading</h1><p>Already a member? Log in.")},
	{"age check", 200, "", page("Are you over 18?", "<button>Yes</button><button>No</button>")},
	{"country block", 451, "", page("Unavailable",
		"This content is not available in your country.")},
	{"country block with status 403", 403, "Server: cloudflare",
		page("Not available in your region",
			"<p>For legal reasons we cannot show this page in your country.")},
	{"intranet log-in, refused", 401, "", page("Sign in",
		`<form><input type="email"><input type="password"></form>`)},
	{"log-in with hcaptcha in Spanish", 200, "", page("Iniciar sesión",
		`<form><input name=user type=text><input name=pass type=password><div class="h-captcha"></div></form><script src="https://js.hcaptcha.com/1/api.js"></script>`)},
	{"log-in whose fields have no type", 200, "", page("Security check",
		`<form><input name="user"><input name="pin"></form><script src="https://js.hcaptcha.com/1/api.js"></script>`)},
	{"newsletter form with recaptcha", 200, "", page("Newsletter",
		nav+`<form><input type="email" name="e"></form>`+words(30)+
			`<script src="https://www.google.com/recaptcha/api.js"></script>`)},
	{"contact form with turnstile, unquoted", 200, "", page("Contact",
		`<form><textarea name=message></textarea></form><script src=https://challenges.cloudflare.com/turnstile/v0/api.js></script>`)},
	{"page that loads recaptcha v3 on each page", 200, "", page("Welcome",
		nav+words(40)+`<script src="https://www.google.com/recaptcha/api.js?render=x"></script>`)},
	{"refusal of a site that loads recaptcha on each page", 403, "", page("Forbidden",
		nav+words(90)+`<script src="https://www.google.com/recaptcha/api.js?render=x"></script>`)},
	{"a shop's page about captchas", 200, "", page("Captcha plugin for shops",
		nav+article+`<script src="https://js.hcaptcha.com/1/api.js"></script>`)},
	{"an article that quotes a challenge", 200, "", page("What is the page with cf_chl_opt?",
		nav+article+
			`<pre>&lt;script&gt;window._cf_chl_opt={cvId:'3'}&lt;/script&gt; /cdn-cgi/styles/challenges.css</pre>`)},
	{"a short question that quotes a challenge", 200, "", page("How to get past this page? - Forum",
		nav+`<p>I get <code>window._cf_chl_opt = {}</code> and "Just a moment..."</p>`)},
	{"a short question that quotes anubis", 200, "", page("Blocked by a bot check",
		nav+
			`<p>The page has <code>&lt;script id="anubis_challenge"&gt;</code> and /.within.website/x/cmd/anubis/ in it. What is it?</p>`)},
	{"a short question that quotes datadome", 200, "", page("captcha-delivery?",
		nav+`<p>Who runs geo.captcha-delivery.com and why is it in my logs?</p>`)},
	{"a short question that quotes imperva", 200, "", page("Error",
		nav+`<p>I see "Request unsuccessful. Incapsula incident ID: 123". Help!</p>`)},
	{"a list of blocked hosts", 200, "Content-Type: text/plain",
		"geo.captcha-delivery.com\nvalidate.perfdrive.com\n"},
	{"a list of blocked hosts as a page", 200, "", page("hosts",
		"<pre>0.0.0.0 geo.captcha-delivery.com\n0.0.0.0 validate.perfdrive.com\n"+
			"0.0.0.0 check.ddos-guard.net/check.js</pre>")},
	{"an API's refusal in JSON", 403, "Content-Type: application/json",
		`{"error":"forbidden","message":"You are not allowed to do this"}`},
	{"an API's refusal behind cloudflare", 403,
		"Server: cloudflare\nContent-Type: application/json", `{"code":"access_denied"}`},
	{"an API's limit in a problem", 429, "Content-Type: application/problem+json",
		`{"title":"Too Many Requests","status":429}`},
	{"an API's error code as text behind cloudflare", 403,
		"Server: cloudflare\nContent-Type: text/plain", "error code: invalid_token"},
	{"a song", 200, "", page("Just a Moment - lyrics", nav+words(90))},
	{"one moment, please, by a bank", 200, "", page("One moment, please...",
		`<p>We are taking you to your bank.</p><a href="/go">Go on</a>`)},
	{"checking your browser, by an application", 200, "", page("Checking your browser",
		"<p>Your browser is too old for this application.")},
	{"a Vercel 403", 403, "Server: Vercel\nContent-Type: text/plain", "Forbidden"},
	{"a page in Chinese with a captcha for comments", 200, "", page("新闻",
		nav+
			`<form><textarea name="c"></textarea><div id="captcha"></div></form><script src="https://static.geetest.com/v4/gt4.js"></script>`)},
	{"a page of an F5 customer about its support", 200, "Server: BigIP", page("Support",
		nav+"<p>Your support ID is: on the back of the card. "+words(40))},
	{"a log-in with fastly's challenge embedded", 200, "X-Served-By: cache-fra-1",
		page("Sign in", nav+`<script src="/_fs-ch-1T1wmsGaOgGaSxcX/challenge.js" defer></script>`+
			`<div class="fastly-challenge"></div><button>Sign in with a passkey</button>`)},
	{"redirect by meta refresh", 200, "", page("",
		`<meta http-equiv="refresh" content="0; url=/de/">`)},
	{"a site's own access denied", 403, "Server: Apache", page("Access Denied",
		"<h1>Access Denied</h1><p>Members only.")},
	{"a site's own access denied behind akamai", 403, "X-Akamai-Transformed: 9",
		page("Access Denied", "<h1>Access Denied</h1><p>Members only.")},
	{"human measures a page that is gone", 404, "", page("Not found",
		`<script>window._pxAppId='PX1'</script>`)},
	{"a short post about Wordfence", 200, "", page("My site",
		nav+"<p>I use Wordfence, a security plugin. It says: Generated by Wordfence at noon.</p>")},
}

// TestMore judges them.
func TestMore(t *testing.T) {
	t.Parallel()
	for _, tc := range moreWalls {
		if got := Of(answerOf(tc.status, tc.header, tc.body)); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	for _, tc := range moreDoors {
		if got := Of(answerOf(tc.status, tc.header, tc.body)); got != None {
			t.Errorf("%s: %q, want none", tc.name, got)
		}
	}
	if len(moreWalls) < 40 || len(moreDoors) < 40 {
		t.Errorf("%d walls and %d others", len(moreWalls), len(moreDoors))
	}
}
