//! The words by which a text tells what is private in it. Lists of words are divided by blanks.

use std::collections::HashSet;
use std::sync::OnceLock;

/// After these words and a colon comes what somebody wrote; as a tag they enclose it.
pub(super) static LABELS: Words = Words::of(
    "prompt prompts input inputs content query question snippet near value received body payload user username kunde benutzer nutzer mandant utilisateur usuario cliente customer client tenant system assistant text name got instructions \
    arguments cookie set-cookie passphrase mnemonic",
);

/// The same where words are not divided by blanks: the part before the colon ends so.
pub(super) const LABELS_UNDIVIDED: &str = "输入 提示词 提示 内容 问题 用户 用户名 租户 客户 姓名 入力 内容は 質問 ユーザー";

/// A secret comes after one of these and a colon, whatever the secret looks like; also where they are the end of a longer name.
pub(super) static SECRETS: Words =
    Words::of("bearer basic digest negotiate apikey key token secret password passwd pwd authorization credential credentials signature session jwt pin otp");

/// The same where words are not divided by blanks.
pub(super) const SECRETS_UNDIVIDED: &str = "密钥 密码 令牌 口令 秘钥 パスワード キー トークン 비밀번호";

/// After these a secret comes without a colon as well.
pub(super) static BARE_SECRETS: Words =
    Words::of("bearer apikey api_key api-key x-api-key x-goog-api-key x-auth-token access_token refresh_token client_secret password passwd pwd authorization proxy-authorization");

/// Before `key` and `token`: then these are a secret's name too.
pub(super) static KINDS_OF_KEYS: Words = Words::of("api access secret private auth bearer subscription security session refresh");

/// How a secret is sent: the secret itself comes after it.
pub(super) static SCHEMES: Words = Words::of("basic bearer digest negotiate token apikey api-key key ntlm hmac aws4-hmac-sha256");

/// What the keys of known makers begin with.
pub(super) const KEY_PREFIXES: &str = "sk- pk- rk- sk_ pk_ rk_ gsk_ hf_ glpat- ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ xoxa- xoxb- xoxe- xoxp- xoxr- xoxs- xapp- AKIA ASIA AIza ya29. eyJ r8_ \
    pplx- xai- nvapi- npm_ dop_v1_ SG. tvly- csk- csk_ fw_ tgp_v1_ jina_ shpat_ lsv2_ bce-v3 whsec_ AGE-SECRET-KEY";

/// Who or whose comes after these.
pub(super) static PERSONS: Words = Words::of(
    "user username login account accounts consumer customer organization organisation org team tenant workspace member owner subscriber employee patient by \
    kunde kunden kundin benutzer nutzer mandant mandanten konto utilisateur utilisatrice compte usuario usuária cliente cuenta conta utente \
    mr mrs ms dr prof herr frau monsieur madame señor señora dear hello hi",
);

/// Those of them after which no other word of the sentence can come.
pub(super) static TITLES: Words = Words::of("mr mrs ms dr prof herr frau monsieur madame señor señora dear");

/// The same where words are not divided by blanks.
pub(super) const PERSONS_UNDIVIDED: &str = "用户 用户名 客户 租户 账户 账号 帐户 帐号 组织 团队 成员 ユーザー 사용자";

/// What is said of them, and is no name.
pub(super) const SAID_OF_PERSONS_UNDIVIDED: &str = "已 未 不 被 没 无 余额 额度 输入 请求 的 组 需 欠费 权限";

/// Behind a name.
pub(super) const HONORIFICS_UNDIVIDED: &str = "さん 様 先生 女士 님";

/// A machine comes after these.
pub(super) static HOSTS: Words = Words::of("host hostname domain enotfound econnrefused eai_again getaddrinfo");

/// How the names of hosts end.
pub(super) static TOP_LEVEL: Words =
    Words::of("com org net io ai dev app cloud local internal lan corp home example test invalid localhost cn de uk eu us fr jp in co edu gov info biz me tech site");

/// What comes after these and `=` is a word of the server's, and no name.
pub(super) static CODED: Words = Words::of("code error reason type status state kind category cause finish_reason stop_reason param parameter field desc");

/// Words that are written with a capital in the middle of a sentence and name nobody.
pub(super) static PUBLIC: Words = Words::of(
    "accepted access again api authentication bad balance billing busy capacity code completion completions conflict connection content context credit \
    credits daily denied deployment endpoint entity error errors exceeded exception exhausted expired failed forbidden found function gateway got group header id image \
    input internal invalid is it key large length limit limits many max maximum message messages method minute model monthly network not output overloaded \
    payment per permission please processing project prompt quota rate request requested requests required resource response server service status \
    temporarily the time timeout token tokens too type unavailable unauthorized unexpected unknown window",
);

/// What a sentence goes on with after a word for a person, a machine or a secret.
pub(super) static CONTINUES: Words = Words::of(
    "a about account accounts activity added admin administrator admins after all allowance allowed already an and another any anyone appears are as \
    associated at attempt attempts authorization because been before belongs blocked budget budgets but by can cannot cap changed changing check client clients closed compacting concurrency \
    config configuration contains correct could count counts credential credentials customer customers daemon data deactivated default defaults deleted disabled does doesn't doing each \
    empty enabled enabling ending expires expiry fields filter format from funds given group groups guardrail has hash have header headers her his hour id ids if in inactive inactivity \
    inference included includes increasing info information input inputs insufficient interface is isn't issued its itself itself's level level's limited limits location lookup \
    lowering malformed manager may mentions member members might missing mode moderation more must name named names need needs never no none nor now of off on one only or organization \
    our out over owner page pages parameter parameters passed peer pending per plan plans policy pool pools portal pre previous product profile prompts prompt provide provided \
    provider providers proxy quota reached rate rather reading receive received reducing registered rejected remaining remote removed removing restricted reviewing revoked \
    risk role roles rotated rounding routing said same search sent session set setting settings should since size so some someone source spend spent still subscription \
    support supplied suspended suspends suspension system tenant that their them then there these they this those tier timed timeout to today together tool tools top try \
    type under until up upgrade upgrading upon upstream us usage use used user users using valid value values verification verified via visiting waiting was we were what when which \
    while who will with within without workspace would wrong year you your adding passing sending",
);

/// Of these, those after which the name or the secret may still come.
pub(super) static LINKS: Words = Words::of("is was are named called name id provided given value header you your the with for sent supplied used received a an");

/// Units that stand at a number without a blank.
pub(super) static UNITS: Words = Words::of("s ms us ns m h d w y k g b t kb mb gb tb kib mib gib ki mi gi x xx st nd rd th am pm px min mins sec secs hr hrs pp");

/// Units of time, the longest first.
pub(super) const TIMES: &str = "w d h hr hrs m min mins s sec secs ms us ns";

/// A list of words that many words are looked up in.
#[derive(Debug)]
pub(super) struct Words {
    list: &'static str,
    set: OnceLock<HashSet<&'static str>>,
}

impl Words {
    const fn of(list: &'static str) -> Self {
        Self { list, set: OnceLock::new() }
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.set.get_or_init(|| self.iter().collect()).contains(word)
    }

    /// The words in the order of the list.
    pub(super) fn iter(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.list.split_whitespace()
    }
}

/// The letters of scripts that put no blanks between words.
pub(super) fn is_undivided(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{2fff}' | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{30ff}' | '\u{3130}'..='\u{318f}' | '\u{31f0}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}
