// crawl.mjs URL BROWSER: shows the pages of a site to a browser with crawlee, and prints each as a line of JSON.
import { Configuration, PuppeteerCrawler } from "@crawlee/puppeteer";
import puppeteer from "puppeteer";

const [url, executablePath] = process.argv.slice(2);
const crawler = new PuppeteerCrawler({
  launchContext: { launcher: puppeteer, launchOptions: { executablePath, headless: true, args: ["--no-sandbox", "--disable-gpu"] } },
  maxConcurrency: 2,
  async requestHandler({ page, request, enqueueLinks }) {
    await page.waitForNetworkIdle(); // half a second, as crawlnode waits
    await enqueueLinks({ strategy: "same-hostname" });
    const [text, html] = [await page.evaluate(() => document.body.innerText), await page.content()];
    console.log(JSON.stringify({ url: request.url, text, html }));
  },
}, new Configuration({ persistStorage: false, logLevel: "ERROR" }));
await crawler.run([url]);
