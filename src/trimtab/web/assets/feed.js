// The connection: token to cookie, the history once, then one stream of changes.

const RETRY_MS = [1000, 2000, 4000, 8000];

export class Feed {
  /** `hooks`: history(history, source), change(change), status(text, lost). */
  constructor(hooks) {
    this.hooks = hooks;
    this.failures = 0;
    this.stream = null;
    this.explains = false;
  }

  async start() {
    const token = location.hash.slice(1);
    if (token) {
      // The token leaves the address bar before anything else can read it from there.
      history.replaceState(null, "", location.pathname + location.search);
      const headers = { Authorization: `Bearer ${token}` };
      await fetch("v1/session", { method: "POST", headers }).catch(() => null);
    }
    await this.load();
  }

  async load() {
    this.stream?.close();
    try {
      const answer = await fetch("v1/history");
      if (answer.status === 401) {
        this.hooks.status("This page needs the address that `trimtab web` printed, with its #token.", true);
        return;
      }
      if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
      const found = await answer.json();
      this.explains = answer.headers.get("X-Trimtab-Explains") === "yes";
      this.hooks.history(found, answer.headers.get("X-Trimtab-Source") ?? "");
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
