// The connection: token to cookie, the history once, then one stream of changes.

const RETRY_MS = [1000, 2000, 4000, 8000];

export class Feed {
  /** `hooks`: history(history, source), change(change), status(text, lost), signIn(). */
  constructor(hooks) {
    this.hooks = hooks;
    this.failures = 0;
    this.stream = null;
    this.explains = false;
    this.shown = false;
    this.session = { changes: false, csrf: "", user: "" };
  }

  async start() {
    const token = location.hash.slice(1);
    // The token leaves the address bar before anything else can read it from there.
    if (token) history.replaceState(null, "", location.pathname + location.search);
    if (token) await this.enter(token).catch(() => null);
    await this.load();
  }

  /** Exchanges a token for a cookie; the server's words if it does not take it. */
  async enter(token) {
    const answer = await fetch("v1/session", { method: "POST", headers: { Authorization: `Bearer ${token}` } });
    return answer.ok ? "" : (await answer.text()).trim();
  }

  async load() {
    this.stream?.close();
    try {
      // a long history would hold the first picture back: then the newest one comes alone
      const answer = await fetch(this.shown ? "v1/history" : "v1/history?newest-first=yes");
      if (answer.status === 401 && answer.headers.get("X-Trimtab-Sign-In") === "yes") {
        this.hooks.signIn();
        return;
      }
      if (answer.status === 401) {
        this.hooks.status("This page needs the address that `trimtab web` printed, with its #token.", true);
        return;
      }
      if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
      const found = await answer.json();
      this.session = await ask("session");
      this.explains = answer.headers.get("X-Trimtab-Explains") === "yes";
      this.hooks.history(found, answer.headers.get("X-Trimtab-Source") ?? "");
      this.shown = true;
      if (answer.headers.get("X-Trimtab-Whole") === "no") {
        await this.load();
        return;
      }
      this.follow(`${found.epoch}-${found.number}`);
    } catch (error) {
      this.retry(error.message);
    }
  }

  follow(after) {
    const stream = new EventSource(`v1/events?after=${encodeURIComponent(after)}`);
    this.stream = stream;
    stream.onopen = () => {
      this.failures = 0;
      this.hooks.status("connected", false);
    };
    stream.onmessage = (event) => this.hooks.change(JSON.parse(event.data));
    stream.addEventListener("again", () => this.load());
    stream.onerror = () => {
      // Whole again after every loss: after a restart the numbers of changes begin anew.
      stream.close();
      this.retry("connection lost");
    };
  }

  retry(why) {
    const wait = RETRY_MS[Math.min(this.failures++, RETRY_MS.length - 1)];
    this.hooks.status(`${why} at ${new Date().toLocaleTimeString()}; trying again`, true);
    setTimeout(() => this.load(), wait);
  }
}

/** An answer of the server, or an error with its words. */
export async function ask(path, parameters = {}) {
  const answer = await fetch(`v1/${path}?${new URLSearchParams(parameters)}`);
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(found.error ?? `the server answers ${answer.status}`);
  return found;
}

/** Asks for a change; what was asked for, in the server's words. */
export async function request(path, body, csrf) {
  const headers = { "Content-Type": "application/json", "X-Trimtab-Csrf": csrf };
  const answer = await fetch(`v1/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await answer.text();
  let found = {};
  try {
    found = JSON.parse(text);
  } catch {
    found = { error: text.trim() };
  }
  if (!answer.ok) throw new Error(found.error || `the server answers ${answer.status}`);
  return found.asked;
}
