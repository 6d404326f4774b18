//! The words, by language. Each phrase is compared in plain form: case, accents, punctuation and space do not count.

type Table = &'static [(&'static str, &'static [&'static str])];

/// Messages that say stop and nothing else.
pub(super) const STOPS: Table = &[
    ("en", &[
        "stop", "stop it", "stop that", "stop this", "stop working", "stop working on this", "stop working on that",
        "can you stop", "could you stop", "you can stop", "cancel", "cancel it", "cancel that", "cancel this", "abort",
        "halt", "never mind", "nevermind", "nvm", "forget it", "forget about it", "drop it", "leave it", "dont bother",
        "no need anymore", "no longer needed", "stand down",
    ]),
    ("de", &[
        "stopp", "stop", "halt", "halt an", "anhalten", "abbrechen", "abbruch", "brich ab", "brich das ab",
        "brechen sie ab", "hör auf", "hör auf damit", "hören sie auf", "aufhören", "lass es", "lass das",
        "lass gut sein", "vergiss es", "schon gut", "nicht mehr nötig", "hat sich erledigt", "stoppe das",
    ]),
    ("fr", &[
        "arrête", "arrêtez", "arrête ça", "arrête toi", "arrêtez vous", "annule", "annulez", "annule ça",
        "laisse tomber", "laissez tomber", "oublie", "oublie ça", "oubliez", "oubliez ça", "ça suffit", "stoppe",
        "stoppez", "plus la peine",
    ]),
    ("es", &[
        "para", "parad", "pare", "detente", "detén", "deténgase", "alto", "basta", "basta ya", "cancela", "cancelar",
        "cancélalo", "déjalo", "olvídalo", "ya no hace falta", "no hace falta",
    ]),
    ("pt", &[
        "pare", "pára", "parar", "pare com isso", "cancela", "cancele", "cancelar", "deixa pra lá", "deixa para lá",
        "esquece", "esqueça", "chega", "não precisa mais",
    ]),
    ("it", &[
        "fermati", "fermo", "ferma", "si fermi", "smettila", "basta", "basta così", "annulla", "lascia stare",
        "lascia perdere", "lasci stare", "non serve più",
    ]),
    ("nl", &["hou op", "houd op", "stop ermee", "stop maar", "annuleer", "annuleren", "laat maar", "vergeet het"]),
    ("pl", &["przestań", "zatrzymaj się", "zatrzymaj", "anuluj", "zostaw to", "nieważne", "dość", "już nie trzeba"]),
    ("cs", &["přestaň", "zastav", "zastav se", "zruš to", "zruš", "nech to", "nech toho", "už netřeba"]),
    ("sv", &["stoppa", "sluta", "avbryt", "glöm det", "strunt samma", "lägg av", "behövs inte längre"]),
    ("da", &["stop det", "hold op", "afbryd", "glem det", "lad være", "annuller"]),
    ("nb", &["slutt", "avbryt", "glem det", "la være", "hold opp"]),
    ("fi", &["seis", "lopeta", "peruuta", "keskeytä", "anna olla", "unohda se", "ei tarvitse enää"]),
    ("tr", &["dur", "durdur", "iptal", "iptal et", "vazgeç", "boş ver", "boşver", "bırak", "yeter", "gerek kalmadı"]),
    ("ru", &[
        "стоп", "остановись", "остановитесь", "хватит", "отмена", "отмени", "отмените", "прекрати", "прекратите",
        "перестань", "забудь", "больше не надо", "не надо",
    ]),
    ("uk", &["стоп", "зупинись", "зупиніться", "припини", "досить", "скасуй", "забудь", "не треба", "годі"]),
    ("el", &["σταμάτα", "σταματήστε", "στοπ", "ακύρωσε", "άκυρο", "φτάνει", "ξέχνα το", "άσε το"]),
    ("vi", &["dừng", "dừng lại", "ngừng", "ngừng lại", "hủy", "hủy bỏ", "thôi", "bỏ đi"]),
    ("id", &["berhenti", "batal", "batalkan", "hentikan", "sudahlah", "lupakan", "tidak usah"]),
    ("hi", &["रुको", "रुक जाओ", "रुकिए", "बंद करो", "रद्द करो", "बस करो", "रहने दो", "छोड़ो"]),
    ("ar", &["توقف", "توقفي", "قف", "كفى", "إلغاء", "ألغ", "الغي", "انس الأمر", "خلاص"]),
    ("he", &["עצור", "תעצור", "עצרי", "די", "בטל", "תפסיק", "עזוב", "לא משנה"]),
    ("ja", &[
        "止めて", "とめて", "やめて", "やめろ", "ストップ", "中止", "中止して", "キャンセル", "キャンセルして", "停止", "停止して", "もういい",
        "もういいです", "中断", "中断して",
    ]),
    ("zh", &[
        "停", "停止", "停下", "停下来", "停一下", "取消", "算了", "别做了", "不用了", "别弄了", "中止", "打住", "停下來", "別做了",
    ]),
    ("ko", &["그만", "그만해", "그만하세요", "멈춰", "멈춰줘", "멈추세요", "중지", "취소", "취소해", "취소해줘", "정지", "됐어"]),
    ("th", &["หยุด", "ยกเลิก", "พอแล้ว", "ไม่ต้องแล้ว"]),
];

/// Messages that only say that the last one was read.
pub(super) const ACKNOWLEDGEMENTS: Table = &[
    ("en", &["thanks", "thank you", "thx", "ty", "great", "cool", "nice", "perfect", "ok", "okay", "got it", "lol"]),
    ("de", &["danke", "vielen dank", "dankeschön", "super", "prima", "alles klar", "passt"]),
    ("fr", &["merci", "merci beaucoup", "super", "parfait", "daccord"]),
    ("es", &["gracias", "muchas gracias", "perfecto", "vale", "genial"]),
    ("pt", &["obrigado", "obrigada", "valeu", "perfeito", "beleza"]),
    ("it", &["grazie", "grazie mille", "perfetto", "va bene"]),
    ("nl", &["dank je", "bedankt", "dankjewel", "prima"]),
    ("pl", &["dzięki", "dziękuję", "super"]),
    ("sv", &["tack", "tackar"]),
    ("tr", &["teşekkürler", "sağ ol", "tamam"]),
    ("ru", &["спасибо", "ок", "понятно", "отлично"]),
    ("ja", &["ありがとう", "ありがとうございます", "了解", "了解です"]),
    ("zh", &["谢谢", "好的", "收到", "謝謝"]),
    ("ko", &["감사합니다", "고마워", "알겠습니다", "네"]),
    ("ar", &["شكرا", "تمام"]),
    ("hi", &["धन्यवाद", "शुक्रिया", "ठीक है"]),
];

/// What a message that asks for another thing begins with.
pub(super) const CORRECTIONS_FIRST: Table = &[
    ("en", &[
        "actually", "correction", "scratch that", "i meant", "i mean", "sorry i meant", "no i meant", "wait i meant",
        "no wait", "rather", "change of plan", "ignore that", "ignore my last", "not that", "forget that",
    ]),
    ("de", &["korrektur", "nein ich meinte", "ich meinte", "sorry ich meinte", "doch lieber", "eigentlich", "planänderung"]),
    ("fr", &["en fait", "plutôt", "correction", "non je voulais dire", "je voulais dire"]),
    ("es", &["en realidad", "corrección", "mejor", "quise decir", "no quise decir", "perdón quise decir"]),
    ("pt", &["na verdade", "correção", "quis dizer", "não quis dizer", "melhor"]),
    ("it", &["in realtà", "correzione", "volevo dire", "no volevo dire", "anzi"]),
    ("nl", &["eigenlijk", "correctie", "ik bedoelde", "nee ik bedoelde"]),
    ("pl", &["właściwie", "poprawka", "miałem na myśli", "miałam na myśli", "chodziło mi o"]),
    ("sv", &["egentligen", "rättelse", "jag menade", "nej jag menade"]),
    ("tr", &["aslında", "düzeltme", "demek istediğim"]),
    ("ru", &["вернее", "точнее", "поправка", "я имел в виду", "я имела в виду", "лучше"]),
    ("ja", &["訂正", "やっぱり", "いや、", "正しくは"]),
    ("zh", &["更正", "我的意思是", "不对", "不是，", "其实"]),
    ("ko", &["정정", "아니 ", "제 말은", "사실은"]),
    ("ar", &["تصحيح", "في الواقع", "أقصد", "قصدي"]),
    ("hi", &["असल में", "मेरा मतलब"]),
];

/// What says, wherever it stands, that another thing is wanted in place of the first.
pub(super) const CORRECTIONS_ANYWHERE: Table = &[
    ("en", &["instead"]),
    ("de", &["stattdessen"]),
    ("fr", &["à la place", "au lieu de ça"]),
    ("es", &["en su lugar", "en lugar de eso", "en vez de eso"]),
    ("pt", &["em vez disso", "ao invés disso"]),
    ("it", &["invece di quello", "al suo posto"]),
    ("nl", &["in plaats daarvan"]),
    ("pl", &["zamiast tego"]),
    ("sv", &["istället"]),
    ("tr", &["onun yerine", "bunun yerine"]),
    ("ru", &["вместо этого"]),
    ("ja", &["代わりに", "ではなくて", "じゃなくて"]),
    ("zh", &["改为", "改成", "而不是", "換成", "换成"]),
    ("ko", &["대신에", "그거 말고"]),
    ("ar", &["بدلا من ذلك"]),
    ("hi", &["इसके बजाय"]),
];

/// Words that may stand around a stop and change nothing.
pub(super) const AROUND: &[&str] = &[
    "please", "pls", "plz", "now", "right now", "immediately", "ok", "okay", "hey", "hi", "no", "wait", "oh", "thanks",
    "thank you", "everything", "all", "here", "sorry", "just", "bitte", "jetzt", "sofort", "nein", "danke", "mal",
    "sil te plaît", "s'il te plaît", "s'il vous plaît", "svp", "stp", "maintenant", "tout de suite", "non", "merci",
    "por favor", "ahora", "ya", "gracias", "agora", "obrigado", "per favore", "adesso", "subito", "grazie",
    "alsjeblieft", "nu", "meteen", "proszę", "teraz", "prosím", "hned", "tack", "snälla", "genast", "venligst",
    "lütfen", "hemen", "şimdi", "hayır", "пожалуйста", "сейчас", "нет", "всё", "будь ласка", "зараз", "παρακαλώ",
    "τώρα", "कृपया", "अभी", "من فضلك", "الآن", "لا", "בבקשה", "עכשיו", "xin", "ngay", "tolong", "sekarang",
    "お願いします", "お願い", "ください", "もう", "请", "請", "吧", "马上", "现在", "了", "제발", "지금", "좀", "ครับ", "ค่ะ",
];
